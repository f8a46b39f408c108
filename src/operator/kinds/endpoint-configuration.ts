/** `EndpointConfiguration`: the IP policies for the traffic of endpoints of one type. */
import { endpointConfiguration } from '../../resources/endpoint-configuration.ts';
import { plainKind } from './plain-kind.ts';

export const endpointConfigurationKind = plainKind(endpointConfiguration, {
  kind: 'EndpointConfiguration',
  shortNames: ['epc'],
  calls: (client) => client.endpointConfigurations,
  columns: ['type', 'ip_policy_ids'],
});
