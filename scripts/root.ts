/** Folders of the project. */
import { join } from "node:path";

/** Set by the build of the package, whose files have the same places in its folder. */
declare const IS_PACKAGE: boolean | undefined;

/** Whether this file is part of the package. */
export const IS_BUILT = typeof IS_PACKAGE !== "undefined";
export const ROOT = join(import.meta.dirname, IS_BUILT ? "../.." : "..");
/** Folder of what is built. */
export const DIST = join(ROOT, "dist");
