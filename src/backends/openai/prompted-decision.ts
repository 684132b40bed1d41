/**
 * Decisions, asked as a chat (`prompted.ts`): every question in one call, every outcome with a percentage of its own. A
 * *noul* is the probability that its instructions hold; a *score* is the expected level, from 0, over its criteria.
 * Videos cannot be asked about; sound can, where the engine hears it.
 */
import * as z from "zod";
import { AiError } from "../../core/errors.ts";
import { splitDataUrl } from "../../media/base64.ts";
import { knownType } from "../../media/types.ts";
import type { DecisionAnswer, DecisionInput, Question } from "../../tasks/decision/types.ts";
import type { Answer } from "../../tasks/task.ts";
import type { ContentPart } from "../../tasks/text-generation/types.ts";
import { type Call, failureOfContent } from "../transport/upstream-failure.ts";
import { askJson, Percent, shares } from "./prompted.ts";

const INSTRUCTION =
	"Read the state and what comes with it, then answer every question about it. A question of type `truth` asks how " +
	"likely it is, in percent, that its instructions hold; any other asks for the percentage of each of its outcomes.";

/** A question and the names of its outcomes in the prompt: short ones, that any grammar takes. */
interface Asked {
	name: string;
	question: Question;
	outcomes: { name: string; description: string }[];
}

export async function decide(input: DecisionInput, call: Call): Promise<Answer<"decision">> {
	if (input.videos.length > 0)
		throw new AiError("engineRefused", `The backend '${call.target.backend}' has no input for videos`);
	const asked = Object.values(input.questions).map(askedAs);
	const { value, usage } = await askJson(
		z.strictObject(Object.fromEntries(asked.map((question) => [question.name, replySchema(question)]))),
		{
			instruction: INSTRUCTION,
			content: [
				{ type: "text", text: JSON.stringify({ state: input.state, questions: asked.map(shown) }) },
				...input.images.map((url): ContentPart => ({ type: "image_url", image_url: { url } })),
				...input.audio.map((url) => sound(url, call)),
			],
		},
		call,
	);
	const ids = Object.keys(input.questions);
	const answers = asked.map((question, place) => [
		ids[place],
		answered(question, value[question.name], call),
	]);
	return {
		kind: "value",
		output: {
			answers: Object.fromEntries(answers),
			usage: { input_tokens: usage?.prompt_tokens ?? 0, output_tokens: usage?.completion_tokens ?? 0 },
		},
	};
}

function askedAs(question: Question, place: number): Asked {
	const name = `question_${place + 1}`;
	const outcome = (description: string, at: number) => ({ name: `outcome_${at + 1}`, description });
	switch (question.type) {
		case "noul":
			return { name, question, outcomes: [] };
		case "choice":
			return {
				name,
				question,
				outcomes: Object.entries(question.criteria).map(([option, text], at) =>
					outcome(`${option}: ${text}`, at),
				),
			};
		case "score":
			return { name, question, outcomes: question.criteria.map(outcome) };
		default:
			return question satisfies never;
	}
}

const shown = ({ name, question, outcomes }: Asked) => ({
	name,
	type: question.type === "noul" ? "truth" : question.type,
	instructions: question.instructions,
	...(question.type === "noul" ? { criteria: question.criteria } : { outcomes }),
});

const replySchema = ({ outcomes }: Asked): z.ZodType<number | Record<string, number>> =>
	outcomes.length === 0
		? Percent
		: z.strictObject(Object.fromEntries(outcomes.map((outcome) => [outcome.name, Percent])));

function answered({ question, outcomes }: Asked, reply: unknown, call: Call): DecisionAnswer {
	// The schema of the reply has been checked: a number, or one for each outcome.
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

function sound(url: string, { target }: Call): ContentPart {
	const { contentType = "", base64: data = "" } = splitDataUrl(url) ?? {};
	const format = FORMATS[knownType(contentType) ?? ""];
	if (!format || !data)
		throw new AiError("engineRefused", `The backend '${target.backend}' hears WAV and MP3 only`);
	return { type: "input_audio", input_audio: { data, format } };
}
