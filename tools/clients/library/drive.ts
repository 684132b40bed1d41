/**
 * Runs the scenarios of one client library, in a process of its own: libraries replace globals, keep sockets open and end processes. It
 * sends each result to its parent.
 */
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { LOADER } from "../install.ts";
import type { Context, Library, Scenario } from "./client.ts";
import { PLAYS } from "./scenarios.ts";

/** The message of the parent that starts the run. */
export interface Order {
	/** The file of the client. */
	file: string;
	/** Where its packages are installed. */
	folder: string;
	origin: string;
	account: string;
	token: string;
	scenarios: readonly Scenario[];
	models: readonly string[];
}

/** One message to the parent for each scenario and model, and `end`. */
export type Report =
	| { kind: "start"; scenario: Scenario; model: string }
	| { kind: "result"; scenario: Scenario; model: string; note: string; failure?: string }
	| { kind: "end"; failure?: string };

const SCENARIO_MS = 60_000;
const send = (report: Report): void => void process.send?.(report);

/** Libraries reject promises that their callers do not have, for example after an abort. */
process.on("unhandledRejection", () => {});

process.once("message", (order: Order) => {
	run(order)
		.then(
			() => send({ kind: "end" }),
			(thrown: unknown) => send({ kind: "end", failure: sentenceOf(thrown) }),
		)
		// Sockets of the library would keep the process alive.
		.finally(() => process.disconnect());
});
process.once("disconnect", () => process.exit(0));

async function run({ account, file, folder, models, origin, scenarios, token }: Order): Promise<void> {
	const { client }: { client: Library } = await import(pathToFileURL(file).href);
	const { load }: Pick<Context, "load"> = await import(pathToFileURL(join(folder, LOADER)).href);
	for (const model of models)
		for (const scenario of scenarios) {
			const context: Context = {
				origin,
				base: `${origin}/client/v4/accounts/${account}/ai`,
				account,
				token,
				model,
				load,
			};
			send({ kind: "start", scenario, model });
			const result = { kind: "result", scenario, model } as const;
			await limited(async () => PLAYS[scenario](await client.open(context), client, context)).then(
				(note) => send({ ...result, note }),
				(thrown: unknown) => send({ ...result, note: "", failure: sentenceOf(thrown) }),
			);
		}
}

function limited<Value>(action: () => Promise<Value>): Promise<Value> {
	const { promise, reject, resolve } = Promise.withResolvers<Value>();
	const timer = setTimeout(() => reject(new Error(`no end after ${SCENARIO_MS / 1000} s`)), SCENARIO_MS);
	action()
		.then(resolve, reject)
		.finally(() => clearTimeout(timer));
	return promise;
}

const sentenceOf = (thrown: unknown): string =>
	thrown instanceof Error ? `${thrown.name}: ${thrown.message}` : String(thrown);
