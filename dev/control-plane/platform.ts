/** An operating system and processor, as Go and everything built with it name them. */
export interface Platform {
  readonly os: 'linux' | 'darwin';
  readonly arch: 'amd64' | 'arm64';
}

const SYSTEMS = new Map<string, Platform['os']>([
  ['linux', 'linux'],
  ['darwin', 'darwin'],
]);
const ARCHITECTURES = new Map<string, Platform['arch']>([
  ['x64', 'amd64'],
  ['arm64', 'arm64'],
]);

/**
 * The platform of this process.
 * @throws Error on any other than Linux and macOS, x64 and arm64.
 */
export function currentPlatform(): Platform {
  const os = SYSTEMS.get(process.platform);
  const arch = ARCHITECTURES.get(process.arch);
  if (os === undefined || arch === undefined) {
    throw new Error(
      `the test cluster runs on Linux and macOS, x64 and arm64; this is ${process.platform} ${process.arch}`,
    );
  }
  return { os, arch };
}
