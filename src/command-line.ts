/** The command line: which program to run, and with which settings. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Command, Option } from 'commander';
import { BadEncryptionKey, type Keyring, keyring } from './api/secrets/keyring.ts';
import { BUILD } from './build.ts';
import { codeOf } from './errors.ts';
import { createLogger } from './log.ts';
import { runApi, runOperator, runWorker } from './programs.ts';
import { CannotStart } from './settings/cannot-start.ts';
import { logSettings } from './settings/log.ts';
import { duration } from './settings/schemas.ts';
import { followSecrets } from './settings/secret-files.ts';
import { BadSettings, fileVariable, readSettings, type Settings } from './settings/settings.ts';
import { tracingSettings } from './tracing/settings.ts';
import { startTracing } from './tracing/start.ts';

/** Runs the command that the arguments of the process name. */
export async function run(): Promise<void> {
  await runCommand().catch((error: unknown) => {
    process.stderr.write(`${explain(error)}\n`);
    process.exit(1);
  });
}

async function runCommand(): Promise<void> {
  const { version } = BUILD;
  const program = new Command('tunnel-operator')
    .description('Management API of a tunnelling platform, and the Kubernetes operator that drives it.')
    .version(version)
    .showHelpAfterError('(see --help)');

  // Each program is loaded only when it runs: the operator needs no database, the API no cluster.
  const { apiSettings, postgresUrl } = await import('./api/settings.ts');
  const { workerSettings } = await import('./api/worker-settings.ts');
  const { kubeconfigProblem, namespacesProblem, operatorSettings } = await import('./operator/settings.ts');

  const apiTable = { ...apiSettings, ...logSettings, ...tracingSettings };
  addSettings(program.command('api').description('serve the management API'), apiTable).action(async (flags) => {
    const settings = readSettings(apiTable, flags, process.env);
    const log = createLogger({ level: settings.logLevel, format: settings.logFormat });
    const latest = followSecrets(apiTable, flags, process.env, log);
    const { databaseUrl: latestDatabaseUrl, otlpHeaders: latestOtlpHeaders } = latest;
    const tracing = { ...settings, latestOtlpHeaders };
    const started = await startTracing(tracing, { service: 'tunnel-operator-api', version, log });
    await runApi({ ...settings, latestDatabaseUrl }, log, started);
  });

  const workerTable = { ...workerSettings, ...logSettings };
  const workerCommand = program.command('worker').description('deliver events, without serving the management API');
  addSettings(workerCommand, workerTable).action(async (flags) => {
    const settings = readSettings(workerTable, flags, process.env);
    const log = createLogger({ level: settings.logLevel, format: settings.logFormat });
    const { databaseUrl: latestDatabaseUrl } = followSecrets(workerTable, flags, process.env, log);
    await runWorker({ ...settings, latestDatabaseUrl }, log);
  });

  const operatorTable = { ...operatorSettings, ...logSettings, ...tracingSettings };
  const operatorCommand = program.command('operator').description('run the Kubernetes operator');
  addSettings(operatorCommand, operatorTable).action(async (flags) => {
    const settings = readSettings(operatorTable, flags, process.env);
    const { keepProcessSmall } = await import('./operator/lean-process.ts');
    keepProcessSmall();
    const problem = namespacesProblem(settings) ?? (await kubeconfigProblem(settings.kubeconfig));
    if (problem !== undefined) throw new BadSettings(problem);
    await runOperator(settings, version, (log) => followSecrets(operatorTable, flags, process.env, log));
  });

  const migrateSettings = {
    databaseUrl: {
      ...apiSettings.databaseUrl,
      description:
        'PostgreSQL to migrate, as postgres://user@host/database; if it holds a password, prefer the variable to the flag',
      schema: postgresUrl,
    },
  };
  const waitSettings = {
    waitMs: {
      env: 'DATABASE_WAIT',
      flag: '--wait <duration>',
      description: 'how long to try again while the database cannot be reached or is starting',
      default: '0s',
      schema: duration('0s', '1h'),
    },
  };
  addSettings(program.command('migrate').description('bring the database up to date and exit'), {
    ...migrateSettings,
    ...waitSettings,
  }).action(async (flags) => {
    const { databaseUrl, waitMs } = readSettings({ ...migrateSettings, ...waitSettings }, flags, process.env);
    const { migrate } = await import('./api/store/migrate.ts');
    const { cannotUseDatabase, onceReachable } = await import('./api/start-failure.ts');
    const work = () =>
      migrate(databaseUrl, undefined, () => {
        process.stderr.write('waiting for a lock that another database session holds; see pg_blocking_pids\n');
      });
    const applied = await onceReachable(work, { waitMs, onWait: reportFailure }).catch((error) => {
      throw cannotUseDatabase(error, databaseUrl);
    });
    function reportFailure(error: unknown): void {
      process.stderr.write(`${explain(cannotUseDatabase(error, databaseUrl))}; trying again\n`);
    }
    print(applied.length > 0 ? applied.map((name) => `applied ${name}`).join('\n') : 'the database is up to date');
  });

  const rotationSettings = {
    databaseUrl: migrateSettings.databaseUrl,
    encryptionKey: { ...apiSettings.encryptionKey, schema: keyring },
  };
  addSettings(
    program
      .command('rotate-encryption')
      .description(
        're-encrypt the secrets in the database with the first encryption key, so that the others can be removed',
      ),
    rotationSettings,
  ).action(async (flags) => {
    await rotate(readSettings(rotationSettings, flags, process.env));
  });

  program
    .command('crds')
    .description('print the CustomResourceDefinitions, or write them to a folder')
    .option('-o, --output <dir>', 'write one file per kind into this folder')
    .action(async ({ output }: { output?: string }) => {
      const { customResources } = await import('./operator/crds/custom-resources.ts');
      const { crdFileName, crdYaml } = await import('./operator/crds/crd.ts');
      if (output === undefined) return print(customResources.map(crdYaml).join('---\n'));
      await mkdir(output, { recursive: true });
      for (const kind of customResources) await writeFile(join(output, crdFileName(kind)), crdYaml(kind));
    });

  const { apiUrl, apiKey, apiTimeoutMs } = operatorSettings;
  const { kubeconfig, kubeTimeoutMs, adoptNamespaces, allowUserApiKeys } = operatorSettings;
  const keySetting = { ...apiKey, description: 'API key for the management API' };
  const clientSettings = { apiUrl, apiKey: keySetting, apiTimeoutMs, kubeconfig, kubeTimeoutMs };
  // A connection has a key, and may have a URL.
  const connectedSettings = {
    ...clientSettings,
    apiUrl: { ...apiUrl, schema: apiUrl.schema.optional() },
    apiKey: { ...keySetting, schema: apiKey.schema.optional() },
  };
  const accountOption = () =>
    new Option('--account <id>', "account to act in, with the key of a platform admin; default: the key's");
  const connectionOption = () =>
    new Option('--connection <namespace/name>', 'APIConnection whose key to use, and whose URL').conflicts('account');
  addSettings(
    program
      .command('export')
      .description('print manifests that take over everything in the API without changing it')
      .addOption(accountOption())
      .addOption(connectionOption())
      .option('--kind <kind>', 'only this kind; may be repeated; default: all', collect)
      .option('-n, --namespace <name>', 'namespace of the objects; default: none is written'),
    clientSettings,
  ).action(async ({ kind = [], namespace, account, connection, ...flags }: ExportFlags) => {
    const { exportYaml } = await import('./operator/export/command.ts');
    const settings = readSettings(connection === undefined ? clientSettings : connectedSettings, flags, process.env);
    const problem = connection === undefined ? undefined : await kubeconfigProblem(settings.kubeconfig);
    if (problem !== undefined) throw new BadSettings(problem);
    const { yaml, refused } = await exportYaml({ ...settings, kinds: kind, namespace, account, connection });
    for (const each of refused) process.stderr.write(`${each.kind} is left out: ${each.reason}\n`);
    if (yaml !== '') print(yaml);
  });

  const planSettings = { ...clientSettings, adoptNamespaces, allowUserApiKeys };
  addSettings(
    program
      .command('plan')
      .description('print what applying files would change at the API; exits with 2 if there is something to do')
      .requiredOption('-f, --filename <path>', 'file, folder, or - for standard input; may be repeated', collect)
      .addOption(accountOption())
      .addOption(connectionOption())
      .option('-n, --namespace <name>', "namespace of objects that name none; default: the kubeconfig's")
      .addOption(new Option('-o, --output <format>', 'text or json').choices(['text', 'json']).default('text')),
    planSettings,
  ).action(async ({ filename, namespace, account, connection, output, ...flags }: PlanFlags) => {
    const settings = readSettings(
      connection === undefined ? planSettings : { ...planSettings, ...connectedSettings },
      flags,
      process.env,
    );
    const problem = await kubeconfigProblem(settings.kubeconfig);
    if (problem !== undefined) throw new BadSettings(problem);
    const { plan } = await import('./operator/plan/command.ts');
    const planned = await plan({ ...settings, files: filename, namespace, account, connection, output });
    print(planned.output);
    process.exitCode = planned.exitCode;
  });

  program
    .command('openapi')
    .description('print the OpenAPI document of the management API')
    .action(async () => {
      const { openApiDocument } = await import('./api/openapi/document.ts');
      print(JSON.stringify(openApiDocument(), null, 2));
    });

  await program.parseAsync();
}

interface ExportFlags {
  kind?: string[];
  namespace?: string;
  account?: string;
  connection?: string;
}

interface PlanFlags {
  filename: string[];
  namespace?: string;
  account?: string;
  connection?: string;
  output: 'text' | 'json';
}

async function rotate({ databaseUrl, encryptionKey }: { databaseUrl: string; encryptionKey: Keyring }): Promise<void> {
  const { openSecrets, rotateEncryption } = await import('./api/secrets/rotation.ts');
  const { openDatabase } = await import('./api/store/database.ts');
  const { SEALED, sealPlainSecrets } = await import('./api/families/all.ts');
  const db = openDatabase({ url: databaseUrl, poolSize: 1, statementTimeoutMs: 60_000, connectTimeoutMs: 10_000 });
  const { cannotUseDatabase } = await import('./api/start-failure.ts');
  try {
    const done = Object.entries(await rotateEncryption(db, encryptionKey, SEALED));
    const plain = await sealPlainSecrets(db, await openSecrets(db, encryptionKey));
    if (plain > 0) print(`${plain} plain secrets of an earlier release: encrypted with "${encryptionKey[0].id}"`);
    for (const [table, count] of done) print(`${table}: ${count} re-encrypted with "${encryptionKey[0].id}"`);
  } catch (error) {
    throw cannotUseDatabase(error, databaseUrl);
  } finally {
    await db.close();
  }
}

function addSettings(command: Command, settings: Settings): Command {
  const withoutFlag: string[] = [];
  for (const setting of Object.values(settings)) {
    const file = fileVariable(setting);
    const variables = file === undefined ? setting.env : `${setting.env} or ${file}`;
    const suffix = setting.default === undefined ? '' : `, default ${setting.default}`;
    if (setting.flag) {
      const option = new Option(setting.flag, `${setting.description} (${variables}${suffix})`);
      if (setting.isRepeatable)
        option.argParser((one, others?: string) => (others === undefined ? one : `${others},${one}`));
      command.addOption(option);
    } else withoutFlag.push(`  ${variables}  ${setting.description}`);
  }
  if (withoutFlag.length > 0) command.addHelpText('after', `\nOnly from the environment:\n${withoutFlag.join('\n')}`);
  return command;
}

const collect = (value: string, before: readonly string[] = []) => [...before, value];

/** The exit code of a program that SIGPIPE ended. */
const READER_IS_GONE = 141;

/** Ends the process when the text cannot be written: its reader may be done, as with `head`, or a disk is full. */
function print(text: string): void {
  process.stdout.once('error', (error) => {
    const code = codeOf(error);
    if (code === 'EPIPE') process.exit(READER_IS_GONE);
    process.stderr.write(`tunnel-operator failed: standard output cannot be written (${code ?? error})\n`);
    process.exit(1);
  });
  process.stdout.write(text.endsWith('\n') ? text : `${text}\n`);
}

function explain(error: unknown): string {
  if ([BadSettings, BadEncryptionKey].some((known) => error instanceof known))
    return `Invalid settings:\n${String(error instanceof Error && error.message).replace(/^/gm, '  ')}`;
  const isKnown = error instanceof CannotStart;
  return `tunnel-operator failed: ${error instanceof Error ? (isKnown ? error.message : error.stack) : String(error)}`;
}
