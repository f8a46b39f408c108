/** HTTP response backends: not every status has a body. */
import { contentProblem, httpResponseBackend } from '../../resources/http-response-backend.ts';
import { mount } from '../crud/mount.ts';
import { invalidByRule } from '../errors/errors.ts';

export const httpResponseBackends = mount(httpResponseBackend, {
  derive({ status_code, body }) {
    const problem = contentProblem(status_code, body);
    if (problem) throw invalidByRule({ '/body': problem });
    return {};
  },
});
