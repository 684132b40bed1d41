/** The process of `wrangler.ts`: runs the commands of its input, one line of JSON each, and answers each with a line. */
import { createRequire, registerHooks } from "node:module";
import { createInterface } from "node:readline";

const CLI = "/wrangler-dist/cli.js";

// The file runs its own arguments and ends, or exports no function for others.
registerHooks({
	load(url, context, nextLoad) {
		const loaded = nextLoad(url, context);
		if (!url.endsWith(CLI)) return loaded;
		return { ...loaded, source: `${loaded.source}\nexports.main = main;` };
	},
});
const require = createRequire(import.meta.url);
const { main }: { main(args: string[]): Promise<void> } = require(`../../node_modules/wrangler${CLI}`);

const written = { stdout: "", stderr: "" };
const answer = process.stdout.write.bind(process.stdout);
for (const name of ["stdout", "stderr"] as const)
	process[name].write = (chunk: string | Uint8Array) => {
		written[name] += chunk;
		return true;
	};

for await (const line of createInterface({ input: process.stdin })) {
	let isDone = true;
	await main(JSON.parse(line)).catch(() => {
		isDone = false;
	});
	const code = isDone ? (process.exitCode ?? 0) : 1;
	answer(`${JSON.stringify({ code, ...written })}\n`);
	Object.assign(written, { stdout: "", stderr: "" });
	process.exitCode = undefined;
}
