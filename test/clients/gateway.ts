/** A gateway as a user starts it: `ganglion serve` as built, open, on a free port, on the simulator. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../scripts/free-port.ts";
import { CLI } from "../node/cli/run.ts";
import { runScript } from "../node/script.ts";

export interface StartedGateway {
	/** `…/client/v4` */
	baseURL: string;
	stop(): Promise<void>;
}

export async function startGateway(vars: Record<string, string> = {}): Promise<StartedGateway> {
	const folder = mkdtempSync(join(tmpdir(), "ganglion-clients-"));
	const port = await freePort();
	const serve = runScript(CLI, ["serve", "--port", String(port), "--state", join(folder, "state")], {
		env: { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator", ...vars },
	});
	const output = await serve.until(/Open to everyone/);
	if (!output.includes("Ganglion is ready on")) throw new Error(output);
	return {
		baseURL: `http://127.0.0.1:${port}/client/v4`,
		async stop() {
			serve.kill("SIGTERM");
			await serve.exit;
			rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
		},
	};
}

export const ACCOUNT = "local";
