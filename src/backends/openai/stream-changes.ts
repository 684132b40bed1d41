/** Which streams of a chat the gateway has to change, whatever their route says. */
import type { Model } from "../../models/model.ts";
import type { ChatInput } from "../../tasks/text-generation/types.ts";
import type { Target } from "../backend.ts";
import { apiOf } from "./choose-api.ts";
import { hostedService } from "./hosts.ts";

/** Why a stream cannot reach its caller as the target sends it. `undefined`: it can. */
export function streamChange(
	input: ChatInput,
	{ target, model }: { target: Target; model: Model },
): string | undefined {
	if (input.prompt !== undefined) return undefined;
	if (hostedService(target)?.signed) return "the host's signatures are sealed";
	if (apiOf(input, { target, model }) === "responses")
		return "the backend is called by OpenAI's Responses API";
	return undefined;
}
