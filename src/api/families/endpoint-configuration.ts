/** Endpoint configurations: nothing beyond the five operations. */
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { mount } from '../crud/mount.ts';
import type { Api } from '../http/operation.ts';

export function endpointConfigurations(api: Api): void {
  mount(api, endpointConfiguration);
}
