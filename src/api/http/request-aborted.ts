/** The client went away in the middle of its request. */
export class RequestAborted extends Error {
  override readonly name = 'RequestAborted';

  constructor() {
    super('the client went away before its request had arrived');
  }
}
