/** The response of a run as what the method returns or throws. */
import * as z from "zod";
import { parseJson } from "../../core/json.ts";
import { lazy } from "../../core/lazy.ts";

/** The fields of a failure (`../binding/run-failure.ts`). A guardrail may answer with others. */
const FailureBody = lazy(() =>
	z.object({ name: z.string(), internalCode: z.number(), description: z.string() }),
);

/** An object for JSON, a stream for everything else. Throws the error of a failure. */
export async function unwrappedResponse(response: Response): Promise<unknown> {
	if (response.ok)
		return response.headers.get("content-type") === "application/json" ? response.json() : response.body;
	const text = await response.text();
	const { status: httpCode } = response;
	const failure = FailureBody().safeParse(parseJson(text)).data;
	if (!failure) throw Object.assign(new Error(text), { name: "AiError", httpCode });
	const message = `${failure.internalCode}: ${failure.description}`;
	throw Object.assign(new Error(message), { ...failure, httpCode });
}
