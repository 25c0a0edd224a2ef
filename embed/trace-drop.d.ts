/** What can be shown: a trace as it is in a file, packed or not. */
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
  /** Shows these files in place of `src`; several are read together. */
  open(files: Iterable<TraceFile>): Promise<void>;
  /** Holds limits, as text, against the trace. */
  hold(limits: string): Promise<void>;
}

declare global {
  interface HTMLElementTagNameMap {
    'trace-drop': TraceDrop;
  }
  interface HTMLElementEventMap extends TraceDropEvents {}
}
