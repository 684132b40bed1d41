import { existsSync } from "node:fs";

const PATHS = [
	process.env.CHROMIUM,
	// Debian's build without windows takes about two thirds of the CPU of the complete browser.
	"/usr/bin/chromium-headless-shell",
	"/usr/bin/chromium",
	"/usr/bin/chromium-browser",
	"/usr/bin/google-chrome",
	"/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/** The path of a browser on this machine, or of the variable `CHROMIUM`. `undefined`: there is none. */
export const CHROMIUM = PATHS.find((path) => path !== undefined && existsSync(path));
