/** Tasks that OpenAI's API lacks: a model of the task has a route for each, and a chat model answers by a prompt. */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { lazy } from "../../core/lazy.ts";
import { SentUsage } from "../../core/usage.ts";
import { encodeBase64 } from "../../media/base64.ts";
import type { Media } from "../../media/media.ts";
import type { TaskName } from "../../tasks/task.ts";
import type { Handler } from "../handler.ts";
import * as prompted from "../openai/prompted.ts";
import * as promptedImages from "../openai/prompted-images.ts";
import { postJson } from "../transport/http.ts";
import type { Call } from "../transport/upstream-failure.ts";
import { withoutVersion } from "./address.ts";

/** The model has no such route. */
const UNSUPPORTED = 501;

const orByPrompt =
	<Name extends TaskName>(own: Handler<Name>, byPrompt: Handler<Name>): Handler<Name> =>
	async (input, call) => {
		try {
			return await own(input, call);
		} catch (error) {
			if (error instanceof AiError && error.upstream?.status === UNSUPPORTED) return byPrompt(input, call);
			throw error;
		}
	};

const Translation = lazy(() => z.looseObject({ texts: z.array(z.string()), usage: SentUsage.optional() }));

export const translate = orByPrompt<"translation">(({ texts, source_lang, target_lang }, call) => {
	const body = { model: call.target.model, texts, source_lang, target_lang };
	return postJson(call, "/translate", body, Translation());
}, prompted.translate);

const Summary = lazy(() => z.looseObject({ summary: z.string(), usage: SentUsage.optional() }));

export const summarize = orByPrompt<"summarization">(
	({ text, max_length }, call) =>
		postJson(call, "/summarize", { model: call.target.model, text, max_length }, Summary()),
	prompted.summarize,
);

const Label = lazy(() => z.looseObject({ label: z.string(), score: z.number() }));

export const classifyText = orByPrompt<"text-classification">(async ({ text }, call) => {
	const body = { model: call.target.model, inputs: text };
	return { labels: await postJson(withoutVersion(call), "/predict", body, z.array(Label())) };
}, prompted.classifyText);

const withImage = ({ bytes }: Media, call: Call) => ({
	model: call.target.model,
	image: encodeBase64(bytes),
});

const Labels = lazy(() => z.looseObject({ labels: z.array(Label()) }));

export const classifyImage = orByPrompt<"image-classification">(
	({ image }, call) => postJson(call, "/classify-image", withImage(image, call), Labels()),
	promptedImages.classifyImage,
);

const Objects = lazy(() =>
	z.looseObject({
		objects: z.array(
			Label().extend({
				box: z.looseObject({ xmin: z.number(), ymin: z.number(), xmax: z.number(), ymax: z.number() }),
			}),
		),
		width: z.number().positive(),
		height: z.number().positive(),
	}),
);

export const detectObjects = orByPrompt<"object-detection">(async ({ image, max_objects }, call) => {
	const found = await postJson(call, "/detect-objects", withImage(image, call), Objects());
	return { ...found, objects: found.objects.slice(0, max_objects) };
}, promptedImages.detectObjects);
