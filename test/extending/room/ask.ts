/** A room: asks several models, each by a request of its own. It uses the pipeline like any caller, and adds no line to it. */
import { loadDialect } from "../../../src/dialects/index.ts";
import type { Caller } from "../../../src/pipeline/request.ts";
import { run } from "../../../src/pipeline/run.ts";
import type { PipelineServices } from "../../../src/pipeline/services.ts";
import type { OpinionServices } from "./services.ts";

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

export async function opinions(
	models: readonly string[],
	question: Omit<Question, "model">,
	services: OpinionServices,
): Promise<readonly unknown[]> {
	const answers = await Promise.all(models.map((model) => opinion({ ...question, model }, services)));
	services.lastOpinions.replace(question.caller.account, answers);
	return answers;
}
