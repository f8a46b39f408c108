/** The formats of the domain that CEL checks beyond their JSON schema. */
import { acl } from '../../../resources/formats/acl.ts';
import { cidr } from '../../../resources/ip-policy-rule.ts';
import { celRegistry } from '../../managed/declaration/cel.ts';
import { aclRules } from './acl.ts';
import { cidrRules } from './cidr.ts';

celRegistry.add(acl.element, { rules: aclRules });
celRegistry.add(cidr, { rules: cidrRules });
