/** A trace as in a file, compressed or not. */
export interface TraceFile {
  /** File name: it is shown, and its ending helps to recognize the format. */
  name: string;
  data: Blob | ArrayBuffer | ArrayBufferView | string;
}

/** A report of the trace. */
export interface ReportName {
  /** As the attribute `report` takes it. */
  id: string;
  title: string;
}

/** The frame listens. */
export interface Ready {
  /** Version of Tracedrop. */
  version: string;
  /** SHA-256 of the build, as hexadecimal digits. */
  build: string;
}

/** A trace was parsed completely. */
export interface Read {
  /** Name of the trace. */
  name: string;
  reports: ReportName[];
}

/** Result of one limit. */
export interface CheckedLimit {
  /** The limit as written. */
  limit: string;
  /** Met, exceeded, or impossible to check. */
  state: 'kept' | 'passed' | 'unknown';
  /** Explanation with the measured value. */
  words: string;
}

/** Limits were checked. */
export interface Limits {
  /** Color of the badge: green if there is at least one limit and each is met. */
  state: 'green' | 'red';
  limits: CheckedLimit[];
}

/** A message, a trace or a limit is invalid, or could not be fetched. */
export interface Problem {
  /** What is wrong. */
  what: string;
  /** What to try; may be empty. */
  hint: string;
}

/** Events of the element; they bubble. */
export interface TraceDropEvents {
  'trace-drop-ready': CustomEvent<Ready>;
  'trace-drop-read': CustomEvent<Read>;
  'trace-drop-limits': CustomEvent<Limits>;
  'trace-drop-problem': CustomEvent<Problem>;
}

/** Message from a page to a frame of `tracedrop.html?mode=embed`, for pages that do without the element. */
export type ToFrame = { tracedrop: 1 } & (
  | { type: 'open'; files: TraceFile[] }
  | { type: 'report'; report: string }
  | { type: 'theme'; theme: 'light' | 'dark' | 'contrast' | 'system' }
  | { type: 'limits'; limits: string }
);

/** Message from such a frame to its page. */
export type FromFrame = { tracedrop: 1 } & (
  | ({ type: 'ready' } & Ready)
  /** Height of the content in pixels. */
  | { type: 'height'; height: number }
  | ({ type: 'read' } & Read)
  | ({ type: 'limits' } & Limits)
  | ({ type: 'problem' } & Problem)
);

/** `<trace-drop src report theme limits show label frame>` */
export declare class TraceDrop extends HTMLElement {
  /** Shows these files instead of `src`; several are combined into one run. */
  open(files: Iterable<TraceFile>): Promise<void>;
  /** Checks the trace against limits, given as text. */
  hold(limits: string): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    'trace-drop': TraceDrop;
  }
  interface HTMLElementEventMap extends TraceDropEvents {}
}
