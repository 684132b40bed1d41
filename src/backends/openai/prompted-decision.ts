/**
 * Decisions as a chat (`prompted.ts`): all questions in one call, with a percentage for each outcome. A *noul* is the
 * probability that its instructions hold; a *score* is the expected level, from 0, over its criteria. Videos are refused;
 * audio is sent, if the engine supports it.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { own } from "../../core/own.ts";
import { splitDataUrl } from "../../media/base64.ts";
import { knownType } from "../../media/types.ts";
import type { DecisionAnswer, Question } from "../../tasks/decision/types.ts";
import type { ContentPart } from "../../tasks/text-generation/types.ts";
import type { Handler } from "../handler.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { Percent, promptForJson, shares } from "./prompted.ts";

const INSTRUCTION =
	"Read the state and what comes with it, then answer every question about it. A question of type `truth` asks how " +
	"likely it is, in percent, that its instructions hold; any other asks for the percentage of each of its outcomes.";

/** A question and the names of its outcomes in the prompt: short names, which all grammars accept. */
interface PromptQuestion {
	/** The caller's name of the question. */
	id: string;
	name: string;
	question: Question;
	outcomes: { name: string; description: string }[];
}

export const decide: Handler<"decision"> = async ({ state, questions, images, audio, videos }, call) => {
	if (videos.length > 0)
		throw new AiError("engineRefused", `The backend '${call.target.backend}' has no input for videos`);
	const prompted = Object.entries(questions).map(promptQuestion);
	const schema = z.strictObject(
		Object.fromEntries(prompted.map((question) => [question.name, replySchema(question)])),
	);
	const content: ContentPart[] = [
		{ type: "text", text: JSON.stringify({ state, questions: prompted.map(promptJson) }) },
		...images.map((url): ContentPart => ({ type: "image_url", image_url: { url } })),
		...audio.map((url) => audioPart(url, call)),
	];
	const { value, usage } = await promptForJson(schema, { instruction: INSTRUCTION, content }, call);
	const answers = prompted.map((question) => [question.id, answerOf(question, value[question.name], call)]);
	return {
		answers: Object.fromEntries(answers),
		method: "prompted",
		usage: { input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0 },
	};
};

function promptQuestion([id, question]: [string, Question], index: number): PromptQuestion {
	return { id, name: `question_${index + 1}`, question, outcomes: outcomesOf(question) };
}

function outcomesOf(question: Question): PromptQuestion["outcomes"] {
	if (question.type === "noul") return [];
	const descriptions =
		question.type === "score"
			? question.criteria
			: Object.entries(question.criteria).map(([option, text]) => `${option}: ${text}`);
	return descriptions.map((description, at) => ({ name: `outcome_${at + 1}`, description }));
}

const promptJson = ({ name, question, outcomes }: PromptQuestion) => ({
	name,
	type: question.type === "noul" ? "truth" : question.type,
	instructions: question.instructions,
	...(question.type === "noul" ? { criteria: question.criteria } : { outcomes }),
});

const replySchema = ({ outcomes }: PromptQuestion): z.ZodType<number | Record<string, number>> =>
	outcomes.length === 0
		? Percent()
		: z.strictObject(Object.fromEntries(outcomes.map((outcome) => [outcome.name, Percent()])));

function answerOf({ question, outcomes }: PromptQuestion, reply: unknown, call: Call): DecisionAnswer {
	// The reply was checked against the schema: a number, or one for each outcome.
	if (question.type === "noul") return { type: "noul", noul: Number(reply) / 100 };
	const percents = reply as Record<string, number>;
	const parts = shares(outcomes.map(({ name }) => percents[name] ?? 0));
	if (!parts) throw failureOfContent(call, "answered with something that is not a decision");
	const confidence = Math.max(...parts);
	if (question.type === "choice") {
		const options = Object.keys(question.criteria);
		const probabilities = Object.fromEntries(options.map((option, at) => [option, parts[at] ?? 0]));
		return { type: "choice", choice: options[parts.indexOf(confidence)] ?? "", probabilities, confidence };
	}
	return {
		type: "score",
		score: parts.reduce((sum, part, level) => sum + part * level, 0),
		legend: Object.fromEntries(question.criteria.entries()),
		probabilities: Object.fromEntries(parts.entries()),
		confidence,
	};
}

const FORMATS: Partial<Record<string, string>> = { "audio/wav": "wav", "audio/mpeg": "mp3" };

function audioPart(url: string, { target }: Call): ContentPart {
	const { contentType = "", base64: data = "" } = splitDataUrl(url) ?? {};
	const format = own(FORMATS, knownType(contentType));
	if (!format || !data)
		throw new AiError("engineRefused", `The backend '${target.backend}' hears WAV and MP3 only`);
	return { type: "input_audio", input_audio: { data, format } };
}
