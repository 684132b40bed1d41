/**
 * `npm run dev`: the gateway under `wrangler dev`, open to everyone on this machine, with the simulator behind every
 * model that no route names. Says once, cleanly, what serves the models; after that the log is wrangler's.
 * Arguments go on to wrangler (`npm run dev -- --port 9000 --env staging`).
 */
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { unstable_getVarsForDev as getVarsForDev, unstable_readConfig as readConfig } from "wrangler";
import { ConfigError, configure, describeRouting } from "../src/config.ts";

const DEV_VARS = { ALLOW_ANONYMOUS: "true", DEFAULT_BACKEND: "simulator" };
const DEFAULT_PORT = "8787";
const PARENT_CHECK_MS = 1000;

const args = process.argv.slice(2);
const { values } = parseArgs({
	args,
	options: {
		port: { type: "string" },
		env: { type: "string", short: "e" },
		config: { type: "string", short: "c" },
	},
	strict: false,
});
const port = typeof values.port === "string" ? values.port : DEFAULT_PORT;

const lines = routingLines();
const child = spawn(
	process.execPath,
	[
		join(import.meta.dirname, "../node_modules/wrangler/bin/wrangler.js"),
		"dev",
		...(values.port === undefined ? ["--port", port] : []),
		"--show-interactive-dev-session=false",
		...Object.entries(DEV_VARS).flatMap(([name, value]) => ["--var", `${name}:${value}`]),
		...args,
	],
	{
		stdio: ["inherit", "pipe", "pipe"],
		// The runtime works without the sample of `request.cf` that wrangler would fetch, and says so at length.
		env: { CLOUDFLARE_CF_FETCH_ENABLED: "false", WRANGLER_SEND_METRICS: "false", ...process.env },
	},
);
announceWhenReady(child);
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => child.kill(signal));
// npm's shell does not pass a signal on: when it is gone, so is who started us.
const parent = process.ppid;
setInterval(() => process.ppid !== parent && child.kill("SIGTERM"), PARENT_CHECK_MS).unref();
child.on("exit", (code, signal) => process.exit(signal ? 0 : (code ?? 1)));

/** The same parse that stops the Worker's start, before anything is started. */
function routingLines(): string[] {
	const env = typeof values.env === "string" ? values.env : undefined;
	const config = typeof values.config === "string" ? values.config : undefined;
	const { vars, userConfigPath } = readConfig({ env, config });
	const all = getVarsForDev(userConfigPath, undefined, vars, env, true);
	const plain = Object.entries(all).map(([name, binding]) => [
		name,
		"value" in binding ? binding.value : undefined,
	]);
	try {
		return describeRouting(configure({ ...Object.fromEntries(plain), ...DEV_VARS }));
	} catch (error) {
		if (!(error instanceof ConfigError)) throw error;
		console.error(error.message);
		process.exit(1);
	}
}

/** Holds back what wrangler says until it is ready; shows it if it never is. */
function announceWhenReady({ stdout, stderr }: ChildProcess): void {
	let held = "";
	let ready = false;
	const pass = (to: NodeJS.WriteStream) => (chunk: Buffer) => {
		if (ready) return void to.write(chunk);
		held += chunk.toString();
		const url = /Ready on (http\S+)/.exec(held)?.[1];
		if (!url) return;
		ready = true;
		console.log(banner(url));
	};
	stdout?.on("data", pass(process.stdout));
	stderr?.on("data", pass(process.stderr));
	process.on("exit", () => {
		if (!ready) process.stderr.write(held);
	});
}

function banner(url: string): string {
	return `
Ganglion is ready on ${url}

  What serves the models
${lines.map((line) => `    ${line}`).join("\n")}

  Try it
    curl -N ${url}/client/v4/accounts/local/ai/run/@cf/meta/llama-3.3-70b-instruct-fp8-fast \\
      -d '{"messages":[{"role":"user","content":"My name is Alice. What is my name?"}],"stream":true}'

  Open to everyone who reaches this address (ALLOW_ANONYMOUS), for development only. Ctrl-C stops it.
`;
}
