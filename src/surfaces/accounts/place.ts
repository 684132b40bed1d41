/**
 * `GET`, `PUT …/ai/place`: the object that has the account: a shard, which many accounts share, or one of its own. `PUT` moves the
 * account while it is used. Only for the operator. Not in the product.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";

const PlaceSchema = lazy(() => z.strictObject({ object: z.enum(["shard", "own"]) }));

export const placeRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/place")], tag: "Accounts" },
	[
		{
			method: "GET",
			path: "",
			summary: "Shows the object that has the account",
			permission: "operator",
			output: answer("placeAnswer"),
			handler: async (_, call) => reply(await placeOf(call).place(), false),
		},
		{
			method: "PUT",
			path: "",
			summary: "Moves the account to a shard, or to an object of its own",
			input: { type: "application/json", schema: PlaceSchema, example: { object: "own" } },
			permission: "operator",
			output: answer("placeAnswer"),
			handler: async (c, call) => {
				const { object } = await readFields(PlaceSchema(), c.req.raw, call.services);
				const moved = await placeOf(call).move(object);
				return reply(await placeOf(call).place(), moved);
			},
		},
	],
);

const placeOf = ({ caller, services }: AppCall) => services.ledgers.of(caller.account);

const reply = (place: string, moved: boolean): Response => envelope({ place, moved });
