/** What this API cannot do and another may. */
import { AiError } from "../../core/errors.ts";
import type { Call } from "../transport/upstream-failure.ts";

/** `what` goes on where "The backend 'x'" has begun. */
export const unable = ({ target: { backend } }: Call, what: string): AiError =>
	new AiError("engineRefused", `The backend '${backend}' ${what}`, {
		retryable: true,
		upstream: { backend },
	});
