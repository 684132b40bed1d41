/** Schemas of answers, for routes. They load with the OpenAPI document, which alone reads them. */
import type { Payload } from "../http/route.ts";

type Answers = typeof import("./all-answers.ts");

/** The names of the payloads. */
type AnswerName = { [Name in keyof Answers]: Answers[Name] extends Payload ? Name : never }[keyof Answers];

export const answer = (name: AnswerName) => async (): Promise<Payload> =>
	(await import("./all-answers.ts"))[name];
