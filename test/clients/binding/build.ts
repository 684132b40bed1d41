import { execFileSync } from "node:child_process";

/** The package is tested as it is built. */
export default function setup(): void {
	execFileSync(process.execPath, ["scripts/build.ts"], { stdio: "pipe" });
}
