/** Decisions: the Clef models' `{model, state, questions, images?, audio?, videos?}`. */
import { DecisionReply, decisionOutput } from "../decision-reply.ts";
import type { Handler } from "../handler.ts";
import { runJson } from "./run.ts";

export const decide: Handler<"decision"> = async (input, call) => {
	const { state, questions, images, audio, videos } = input;
	const { model } = call.target;
	const inputs = {
		// The model's name without its namespace.
		model: model.slice(model.lastIndexOf("/") + 1),
		state,
		questions,
		...(images.length > 0 && { images }),
		...(audio.length > 0 && { audio }),
		...(videos.length > 0 && { videos }),
	};
	return decisionOutput(await runJson(call, inputs, DecisionReply()), input, call);
};
