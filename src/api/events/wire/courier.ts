/** An event as it is sent. */
export interface SentEvent {
  readonly id: string;
  readonly type: string;
  readonly time: string;
  readonly subject: string;
  readonly sequence: string;
  readonly principal: string;
  readonly data: Readonly<Record<string, unknown>>;
}

export interface Destination {
  readonly id: string;
  readonly format: 'json' | 'thin';
  readonly target: { readonly webhook: { readonly url: string } };
  readonly secrets: readonly string[];
}

/** What came back. */
export interface Answer {
  readonly delivered: boolean;
  readonly status?: number;
  readonly body?: string;
  readonly error?: string;
  readonly retryAfterMs?: number;
  readonly gone?: boolean;
}

export interface Courier {
  deliver(destination: Destination, event: SentEvent, signal: AbortSignal): Promise<Answer>;
  close(): Promise<void>;
}
