import { AiError } from "../../core/errors.ts";
import type { Call } from "../transport/upstream-failure.ts";

/** For features that another target may have. The message is "The backend 'x'" and `problem`. */
export const unable = ({ target: { backend } }: Call, problem: string): AiError =>
	new AiError("engineRefused", `The backend '${backend}' ${problem}`, {
		retryable: true,
		upstream: { backend },
	});
