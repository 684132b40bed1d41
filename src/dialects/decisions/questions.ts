/**
 * Questions of the decision APIs as questions of the task. The APIs allow any name, and OpenAI's may repeat; the task's ids are `q0`,
 * `q1`, … in the order of the request.
 */
import * as z from "zod";
import { lazy } from "../../core/lazy.ts";
import type { DecisionAnswer, DecisionOutput, Question } from "../../tasks/decision/types.ts";
import { invalidInput } from "../invalid-input.ts";

export const MAX_QUESTIONS = 64;
export const OPTIONS = { min: 2, max: 255 } as const;
export const LEVELS = { min: 2, max: 10 } as const;

const questionId = (index: number): string => `q${index}`;

export const idsOf = (questions: readonly Question[]): Record<string, Question> =>
	Object.fromEntries(questions.map((question, index) => [questionId(index), question]));

/** The answer to a question. Every engine answers all of them. */
export function answerAt({ answers }: DecisionOutput, index: number): DecisionAnswer | undefined {
	return answers[questionId(index)];
}

const Part = lazy(() => z.looseObject({ type: z.string(), text: z.string().optional() }));
export const Instructions = lazy(() => z.union([z.string().min(1), Part(), z.array(Part()).min(1)]));

/** `at`: `questions[0]`. Throws 8001 for a part that is not text. */
export function instructionsText(sent: z.output<ReturnType<typeof Instructions>>, at: string): string {
	if (typeof sent === "string") return sent;
	const parts = Array.isArray(sent) ? sent : [sent];
	return parts
		.map(({ text }, index) => {
			if (text === undefined) throw invalidInput(`${at}.instructions[${index}]: only text is supported here`);
			return text;
		})
		.join("\n");
}

/** Throws 8001 for more questions than an engine takes. */
export function requireFew(count: number): void {
	if (count > MAX_QUESTIONS)
		throw invalidInput(`questions: at most ${MAX_QUESTIONS} are supported here, found ${count}`);
}

/** Added to an answer of a model that was prompted for it: its probabilities are what the model wrote, not measured. */
export const methodOf = ({ method }: DecisionOutput): { method?: "prompted" } => (method ? { method } : {});
