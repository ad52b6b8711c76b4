/**
 * Loads a package that a user may not have installed.
 *
 * The specifier is an argument, so a bundler does not resolve the import, and a bundle can be built without the
 * package. Node then looks for the package beside the bundle.
 *
 * Contract: rejects with Node's own error if the package is missing.
 */
export function importOptional<Module extends object>(specifier: string): Promise<Module> {
  return import(/* @vite-ignore */ /* webpackIgnore: true */ specifier);
}
