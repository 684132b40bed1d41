/**
 * `/client/v4/local-models`: the weights of the machine that runs this gateway with `--engine local`, for the operator. `GET` has sizes,
 * states and the progress of downloads. `POST` downloads, loads, unloads or removes weights. Not in the product. The engine itself
 * answers: `scripts/local-engine`.
 */
import type { Context } from "hono";
import * as z from "zod";
import { withProblems } from "../../backends/local/problems.ts";
import { getJson, postJson } from "../../backends/transport/http.ts";
import type { Call } from "../../backends/transport/upstream-failure.ts";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { readFields } from "../../http/account-request.ts";
import { envelope } from "../../http/envelope.ts";
import { adHocModel } from "../../models/catalog.ts";
import { answer } from "../answer.ts";
import { below, V4 } from "../bases.ts";
import { type AppCall, type AppRoute, defineRoutes } from "../route.ts";
import type { AppServices } from "../services.ts";

const KIND = "local";
/** The engine is on the same machine, and answers before a download ends. */
const TIMEOUTS = { headerMs: 10_000, idleMs: 10_000, totalMs: 15_000 };

const Action = lazy(() =>
	z.strictObject({
		action: z.enum(["pull", "cancel", "load", "unload", "remove"]),
		/** An id of the catalogue, or the name of weights. */
		model: z.string().min(1).max(256),
		/** For a licence that asks for acceptance. */
		accept_licence: z.boolean().optional(),
	}),
);

export const localModelRoutes: readonly AppRoute[] = defineRoutes(
	{ bases: [below(V4, "/local-models")], tag: "Operations" },
	[
		{
			method: "GET",
			path: "",
			summary: "Shows the weights on this machine, and their downloads",
			permission: "operator",
			output: answer("localModelsAnswer"),
			handler: async (c, { services }) => envelope(await getJson(callOf(c, services), "/status", Status())),
		},
		{
			method: "POST",
			path: "",
			summary: "Downloads, loads, unloads or removes weights",
			permission: "operator",
			input: {
				type: "application/json",
				schema: Action,
				example: { action: "pull", model: "@cf/baai/bge-small-en-v1.5" },
			},
			output: answer("localModelAnswer"),
			handler: change,
		},
	],
);

/** The engine's own fields. */
const Status = lazy(() => z.looseObject({ models: z.array(z.looseObject({ name: z.string() })) }));
const Changed = lazy(() => z.looseObject({ model: z.string() }));

async function change(c: Context, { services }: AppCall): Promise<Response> {
	const call = callOf(c, services);
	const { action, ...fields } = await readFields(Action(), c.req.raw, services);
	return envelope(await postJson(call, `/${action}`, fields, Changed()));
}

function callOf(c: Context, services: AppServices): Call {
	for (const { pattern } of services.routing.list()) {
		const found = services.routing.find(pattern)?.targets.find(({ kind }) => kind === KIND);
		if (!found) continue;
		const { urls, ...target } = found;
		return withProblems({
			target: { ...target, url: urls[0], timeouts: TIMEOUTS },
			services,
			model: adHocModel(target.model),
			signal: c.req.raw.signal,
			withoutTrace: true,
		});
	}
	throw new AiError("notFound", "No models run on this machine: start the gateway with --engine local");
}
