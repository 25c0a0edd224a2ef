/** A trace as in a file, compressed or not. */
export interface TraceFile {
  name: string;
  data: Blob | ArrayBuffer | ArrayBufferView | string;
}

export interface TraceDropEvents {
  'trace-drop-ready': CustomEvent<{ version: string; build: string }>;
  'trace-drop-read': CustomEvent<{ name: string; reports: { id: string; title: string }[] }>;
  'trace-drop-limits': CustomEvent<{
    state: 'green' | 'red';
    limits: { limit: string; state: 'kept' | 'passed' | 'unknown'; words: string }[];
  }>;
  'trace-drop-problem': CustomEvent<{ what: string; hint: string }>;
}

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
