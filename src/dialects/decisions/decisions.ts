/**
 * The dialect of the routes for decisions. Three contracts have one path (`/v1/decisions`), and the body tells which: a list of questions is
 * OpenAI's, a map with `input` Google's, a map with `state` System One's.
 */
import * as z from "zod";
import { isRecord } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";
import { inputFamily } from "../../models/family.ts";
import type { Model } from "../../models/model.ts";
import type { DecisionInput } from "../../tasks/decision/types.ts";
import { contentRules } from "../chat/messages.ts";
import type { Dialect } from "../dialect.ts";
import { invalidInput, pointerTo } from "../invalid-input.ts";
import { outputValue } from "../output-value.ts";
import { checkMedia, MAX_IMAGES } from "../text/decision-media.ts";
import { stateOfContents, stateOfItems } from "./input.ts";
import { GoogleDecision, googleReply, readKeyedQuestions, SystemOne, systemOneReply } from "./keyed.ts";
import { OpenAiDecision, openAiDecision, readQuestions } from "./openai.ts";
import { idsOf } from "./questions.ts";

type Contract = "openai" | "google" | "systemone";

/** The contract of a body, if its questions tell; otherwise that of the route. */
export function contractOf(fields: unknown, route: Contract): Contract {
	if (!isRecord(fields)) return route;
	if (Array.isArray(fields.questions)) return "openai";
	if (!isRecord(fields.questions)) return route;
	return "state" in fields || !("input" in fields) ? "systemone" : "google";
}

const Bodies = lazy(() =>
	z.discriminatedUnion("contract", [OpenAiDecision(), GoogleDecision(), SystemOne()]),
);
type Body = z.output<ReturnType<typeof Bodies>>;

const WRITERS = { openai: openAiDecision, google: googleReply, systemone: systemOneReply };

/** `route`: the contract of a body whose questions do not tell. */
export function decisionsDialect(route: Contract): Dialect {
	const schema = lazy(() =>
		z.preprocess(
			(fields) => (isRecord(fields) ? { ...fields, contract: contractOf(fields, route) } : fields),
			Bodies(),
		),
	);
	return {
		reader: {
			schema: () => schema(),
			read: (body: Body, model) => ({ task: "decision", input: readBody(body, model) }),
		},
		writer: {
			write(answer, context) {
				const { contract } = context.inputs as Body;
				return { kind: "json", value: WRITERS[contract](outputValue("decision", answer), context) };
			},
		},
	};
}

function readBody(body: Body, model: Model): DecisionInput {
	const common = { model: model.id.slice(model.id.lastIndexOf("/") + 1), audio: [], videos: [] };
	if (body.contract === "openai") {
		const { state, images } = stateOfItems(body.input);
		return {
			...common,
			state,
			questions: idsOf(readQuestions(body.questions)),
			images: checked(images, model),
		};
	}
	const questions = idsOf(readKeyedQuestions(body.questions));
	if (body.contract === "google") {
		const { state, images } = stateOfContents(body.input);
		return { ...common, state, questions, images: checked(images, model) };
	}
	const images = (body.images ?? []).map((image, index) => ({
		url: asDataUrl(image),
		at: `images[${index}]`,
	}));
	return { ...common, state: body.state, questions, images: checked(images, model) };
}

/** The type in the address is corrected when the image is checked. */
const asDataUrl = (image: string): string =>
	/^data:/i.test(image) ? image : `data:image/png;base64,${image}`;

/** Throws 8001 for a model without images, and 5006 for an invalid image. */
function checked(images: readonly { url: string; at: string }[], model: Model): string[] {
	const [first] = images;
	if (!first) return [];
	if (!inputFamily(model).decides && contentRules(model).textOnly)
		throw invalidInput(`${first.at}: ${model.id} takes no images`);
	if (images.length > MAX_IMAGES)
		throw invalidInput(`${images[MAX_IMAGES]?.at}: at most ${MAX_IMAGES} images are supported here`);
	const pointers = images.map(({ at }) => pointerTo(at));
	return checkMedia({ images: images.map(({ url }) => url) }, (index) => pointers[index] ?? "/images").images;
}
