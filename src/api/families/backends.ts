/** Backends: what serves an endpoint. */
import { contentProblem, httpResponseBackend } from '../../resources/http-response-backend.ts';
import { tunnelGroupBackend } from '../../resources/tunnel-group-backend.ts';
import { invalidRequest } from '../errors.ts';
import { mount } from '../mount.ts';
import type { Api } from '../operation.ts';

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
