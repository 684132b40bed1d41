/** The routes of moves: an index goes to another store of `VECTORS.stores`. Not in the product. */
import type { Context } from "hono";
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { readStored } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { pathParameter } from "../../http/route.ts";
import type { IndexMove } from "../../retrieval/vectors/durable/move-table.ts";
import { answer } from "../answer.ts";
import type { AppCall, AppRouteDeclaration } from "../route.ts";

const NewMove = lazy(() => z.object({ store: z.string().min(1) }));

const path = "/:index/move";
const output = answer("vectorMoveAnswer");

export const moveRoutes: readonly AppRouteDeclaration[] = [
	{
		method: "POST",
		permission: "vectorize-write",
		path,
		summary: "Moves a vector index to another store",
		input: { type: "application/json", schema: NewMove, example: { store: "pg" } },
		output,
		handler: startMove,
	},
	{
		method: "GET",
		permission: "vectorize-read",
		path,
		summary: "Shows the last move of a vector index",
		output,
		handler: async (c, { caller, services }) =>
			envelope(moveJson(await services.vectorIndexes.moves.last(caller.account, pathParameter(c, "index")))),
	},
	{
		method: "DELETE",
		permission: "vectorize-write",
		path,
		summary: "Cancels the move of a vector index",
		output,
		async handler(c, { caller, services }) {
			const { moves } = services.vectorIndexes;
			const name = pathParameter(c, "index");
			const ended = await moves.end(caller.account, name, { phase: "cancelled" });
			return envelope(moveJson(ended ?? (await moves.last(caller.account, name))));
		},
	},
];

async function startMove(c: Context, { caller, services }: AppCall): Promise<Response> {
	const { answer: answered, fields } = await readStored(NewMove(), c.req.raw, services);
	const { moves } = services.vectorIndexes;
	return answered(moveJson(await moves.start(caller.account, pathParameter(c, "index"), fields.store)));
}

/** `total`: vectors at the start; more may have been written since then. */
function moveJson(move: IndexMove | undefined): object {
	if (!move) throw new AiError("invalidRequest", "the index has not been moved");
	const { copied, error, phase, target, total } = move;
	return { status: phase, store: target.store, total, copied, ...(error !== undefined && { error }) };
}
