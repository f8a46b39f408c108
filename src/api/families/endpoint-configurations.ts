/** Endpoint configurations: nothing beyond the five operations. */
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { mount } from '../mount.ts';
import type { Api } from '../operation.ts';

export function endpointConfigurations(api: Api): void {
  mount(api, endpointConfiguration);
}
