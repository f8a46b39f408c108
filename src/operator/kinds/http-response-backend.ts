/** `HTTPResponseBackend`: a fixed response, whose body and headers may come from Secrets and ConfigMaps. */
import { httpResponseBackend } from '../../resources/http-response-backend.ts';
import { plainKind } from './plain-kind.ts';

export const httpResponseBackendKind = plainKind(httpResponseBackend, {
  kind: 'HTTPResponseBackend',
  shortNames: ['hrb'],
  calls: (client) => client.httpResponseBackends,
  sources: ['body', 'headers'],
  columns: ['status_code'],
});
