/** The format of one of OpenAI's or Anthropic's routes, and the models that it takes. Its body names the model. */
import * as z from "zod";
import { AiError } from "../core/errors.ts";
import { inputFamily } from "../models/family.ts";
import type { Model } from "../models/model.ts";
import type { TaskTitle } from "../models/tasks.ts";
import { openaiChat } from "./chat/openai-route.ts";
import type { Dialect } from "./dialect.ts";
import { validate } from "./validation/validation.ts";

export interface RouteDialect {
	dialect(): Dialect | Promise<Dialect>;
	/** The task, in the catalogue, of the models that the route takes. */
	task: TaskTitle;
	/** The route also takes the models that decide and do not chat. */
	decides?: true;
	/** For a route that takes only some models of its task. */
	accepts?(model: Model): boolean;
}

/** The models and the format of `/chat/completions`. */
export const OPENAI_CHAT: RouteDialect = { dialect: () => openaiChat, task: "Text Generation" };

/** Whether the route takes the model: those of its task, and ad hoc models, whose task is unknown. */
export function takesModel({ task, accepts, decides }: RouteDialect, model: Model): boolean {
	if (model.status === "adhoc") return true;
	return model.task === task && (!inputFamily(model).decides || !!decides) && (accepts?.(model) ?? true);
}

/** The dialect of a route, for the models that it takes. */
export const onlyFor =
	(route: RouteDialect) =>
	(model: Model): Dialect | Promise<Dialect> => {
		if (takesModel(route, model)) return route.dialect();
		const reason = inputFamily(model).decides
			? "it decides and does not chat, at /v1/decisions and /ai/run"
			: model.task === route.task
				? "this route does not take it"
				: `its task is ${model.task}`;
		throw new AiError("noSuchModel", `No such model ${model.id} or task: ${reason}`);
	};

const ModelBody = z.looseObject({ model: z.string().min(1) });

/** Returns the body itself. The schema would copy it, and is used only for the message of 5006. */
export function requireModel(body: unknown): { model: string } {
	const model = typeof body === "object" && body !== null && "model" in body ? body.model : undefined;
	return typeof model === "string" && model !== "" ? (body as { model: string }) : validate(ModelBody, body);
}
