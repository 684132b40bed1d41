/** Bodies with a field `model`, as OpenAI's and Anthropic's APIs have them. */
import * as z from "zod";
import { validate } from "../dialects/validation/validation.ts";

const ModelBody = z.looseObject({ model: z.string().min(1) });

/** Returns the body itself. The schema would copy it, and is used only for the message of 5006. */
export function requireModel(body: unknown): { model: string } {
	const model = typeof body === "object" && body !== null && "model" in body ? body.model : undefined;
	return typeof model === "string" && model !== "" ? (body as { model: string }) : validate(ModelBody, body);
}
