/** A room: asks several models, each by a request of its own. It uses the pipeline like any caller, and adds no line to it. */
import * as z from "zod";
import { loadDialect } from "../../src/dialects/index.ts";
import { validate } from "../../src/dialects/validation/validation.ts";
import { readJson } from "../../src/http/body.ts";
import { envelope } from "../../src/http/envelope.ts";
import { type Call, defineRoutes, type Route } from "../../src/http/route.ts";
import type { Caller } from "../../src/pipeline/request.ts";
import { run } from "../../src/pipeline/run.ts";
import type { PipelineServices } from "../../src/pipeline/services.ts";
import { AI } from "../../src/surfaces/bases.ts";

const Body = z.object({ prompt: z.string().min(1), models: z.array(z.string()).min(1).max(4) });

interface Question {
	caller: Caller;
	model: string;
	prompt: string;
	signal: AbortSignal;
}

/** The model's answer in its own format. The account's limits apply, and the account pays. */
async function opinion({ prompt, ...question }: Question, services: PipelineServices): Promise<unknown> {
	const id = services.uuid();
	const reply = await run(
		{ ...question, id, dialect: loadDialect, inputs: { fields: { prompt } } },
		services,
	);
	return reply.body.kind === "json" ? reply.body.value : undefined;
}

export const secondOpinionRoutes: readonly Route[] = defineRoutes({ bases: [AI], tag: "Second opinion" }, [
	{
		method: "POST",
		path: "/second-opinion",
		summary: "Asks several models the same",
		permission: "run",
		input: { type: "application/json", schema: Body },
		async handler(c, { caller, services }: Call) {
			const { prompt, models } = validate(Body, await readJson(c.req.raw, services));
			const { signal } = c.req.raw;
			const opinions = models.map((model) => opinion({ caller, model, prompt, signal }, services));
			return envelope(await Promise.all(opinions));
		},
	},
]);
