/** Backends: what serves an endpoint. */
import { contentProblem, httpResponseBackend } from '../../resources/http-response-backend.ts';
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { mount } from '../crud/mount.ts';
import { invalidRequest } from '../errors/errors.ts';
import type { Api } from '../http/operation.ts';

export function backends(api: Api): void {
  mount(api, httpResponseBackend, {
    derive({ status_code, body }) {
      const problem = contentProblem(status_code, body);
      if (problem) throw invalidRequest({ '/body': problem });
      return {};
    },
  });
  mount(api, tunnelGroupBackend);
}
