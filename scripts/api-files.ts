/** Writes the OpenAPI document and its page as static files (src/surfaces/operations/api-files.ts), for `npm run build:console`. */
import { mkdirSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { type Plugin, rolldown } from "rolldown";
import { ROOT } from "./root.ts";
import { withBuilding } from "./worker.ts";

/** The routes name classes of the runtime, and call none. */
const runtimeClasses: Plugin = {
	name: "runtime-classes",
	resolveId: (id) => (id === "cloudflare:workers" ? "\0runtime" : undefined),
	load: (id) =>
		id === "\0runtime"
			? "export class DurableObject {} export class RpcTarget {} export class WorkerEntrypoint {} export const env = {}; export const exports = {}; export const waitUntil = () => {};"
			: undefined,
};

export const writeApiFiles = (to: string): Promise<void> =>
	withBuilding(async (folder) => {
		const bundle = await rolldown({
			input: join(ROOT, "src/surfaces/operations/api-files.ts"),
			external: [/^node:/],
			plugins: [runtimeClasses],
			logLevel: "warn",
		});
		await bundle.write({ file: join(folder, "api-files.mjs"), codeSplitting: false });
		await bundle.close();
		const { apiFiles }: typeof import("../src/surfaces/operations/api-files.ts") = await import(
			pathToFileURL(join(folder, "api-files.mjs")).href
		);
		mkdirSync(to, { recursive: true });
		for (const [name, text] of Object.entries(apiFiles())) {
			writeFileSync(join(folder, name), text);
			renameSync(join(folder, name), join(to, name));
		}
	});
