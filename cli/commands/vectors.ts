/** `ganglion vectors move`: moves a vector index to another store, and shows the progress. */
import { setTimeout as wait } from "node:timers/promises";
import * as z from "zod";
import { CommandError, type ConnectionFlags, GatewayClient } from "../gateway-client.ts";
import { progressBar, showLine } from "../progress-line.ts";
import { printJson } from "../table.ts";

export interface MoveFlags extends ConnectionFlags {
	/** The name of the store. */
	to?: string;
	cancel?: boolean;
}

const POLL_MS = 500;
const ENDED: ReadonlySet<string> = new Set(["completed", "failed", "cancelled"]);

const Move = z.looseObject({
	status: z.string(),
	store: z.string(),
	total: z.number(),
	copied: z.number(),
	error: z.string().optional(),
});
type ShownMove = z.output<typeof Move>;

/** Begins the move, or continues to watch it. The exit code is 1 if the index is not moved. */
export async function moveVectors(index: string, flags: MoveFlags): Promise<number> {
	const { cancel, json, to } = flags;
	if ((to === undefined) === !cancel) throw new CommandError("expected --to STORE, or --cancel");
	const client = new GatewayClient(flags);
	const path = `/vectorize/v2/indexes/${encodeURIComponent(index)}/move`;
	const begun = await client.result(
		path,
		Move,
		cancel ? { method: "DELETE" } : { method: "POST", body: { store: to } },
	);
	if (!ENDED.has(begun.status))
		console.error(
			`The move also runs without this command. To watch it again: npx ganglion vectors move ${index} --to ${to}`,
		);
	const move = await watch(client, path, begun);
	if (json) printJson(move);
	else console.log(sentence(index, move));
	return cancel || move.status === "completed" ? 0 : 1;
}

async function watch(client: GatewayClient, path: string, begun: ShownMove): Promise<ShownMove> {
	let move = begun;
	let shown = "";
	for (;;) {
		shown = showLine(lineOf(move), shown, ENDED.has(move.status));
		if (ENDED.has(move.status)) return move;
		await wait(POLL_MS);
		move = await client.result(path, Move);
	}
}

function lineOf({ copied, status, total }: ShownMove): string {
	// Vectors that are written meanwhile are not in the total.
	const done = Math.min(copied, total);
	return total === 0 ? status : `${progressBar(done, total)} ${done} of ${total} (${status})`;
}

function sentence(index: string, { error, status, store }: ShownMove): string {
	if (status === "completed") return `${index} is in the store ${store}.`;
	return `${index} is where it was: the move to the store ${store} ${error === undefined ? "was cancelled" : `has failed: ${error}`}`;
}
