/**
 * `GET`, `PUT`, `DELETE …/ai/bound-gateway`: the gateway in which all requests of the account run, also those of its bindings, if their
 * tokens bind none. Only the operator changes it. Not in the product.
 */
import type { Context } from "hono";
import type { BoundGateway } from "../../accounts/bound-gateway.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { answer } from "../answer.ts";
import { AI, below } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import { BoundGatewaySchema, boundGatewayJson } from "./token-fields.ts";
import { unknownBinding } from "./unknown-binding.ts";

export const boundGatewayRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(AI, "/bound-gateway")], tag: "Accounts" },
	[
		{
			method: "GET",
			path: "",
			summary: "Shows the gateway that the account binds",
			permission: "read",
			output: answer("boundGatewayAnswer"),
			handler: async (_, { caller, services }) =>
				reply(await services.ledgers.of(caller.account).boundGateway(caller.credential)),
		},
		{
			method: "PUT",
			path: "",
			summary: "Binds a gateway for all requests of the account",
			input: {
				type: "application/json",
				schema: BoundGatewaySchema,
				example: { id: "prod", mode: "required", metadata: { team: "search" } },
			},
			permission: "operator",
			output: answer("boundGatewayAnswer"),
			handler: async (c, call) => set(call, await readFields(BoundGatewaySchema(), c.req.raw, call.services)),
		},
		{
			method: "DELETE",
			path: "",
			summary: "Removes the binding",
			permission: "operator",
			output: answer("boundGatewayAnswer"),
			handler: (_: Context, call) => set(call, undefined),
		},
	],
);

async function set(call: AppCall, gateway: BoundGateway | undefined): Promise<Response> {
	const { caller, services } = call;
	await services.ledgers.of(caller.account).setBoundGateway(caller.credential, gateway);
	return reply(
		gateway,
		await unknownBinding(services.gateways.registry(caller.account), { id: gateway?.id, path: "id" }),
	);
}

/** `null`: none. */
const reply = (gateway: BoundGateway | undefined, extra: object = {}): Response =>
	envelope(gateway ? boundGatewayJson(gateway) : null, extra);
