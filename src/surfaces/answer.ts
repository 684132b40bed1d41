/** Names of the schemas of answers, for routes. Only the OpenAPI document reads the schemas, so the Worker does not contain them. */
import type { Payload } from "../http/route.ts";

type Answers = typeof import("./all-answers.ts");

/** The names of the payloads. */
type AnswerName = {
	[Name in keyof Answers]: Answers[Name] extends Payload ? Name : never;
}[keyof Answers];

export const answer = (name: AnswerName): AnswerName => name;
