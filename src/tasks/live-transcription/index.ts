import { exact, upperBound } from "../../counting/quantities.ts";
import type { TaskDefinition } from "../definition.ts";
import type { LiveTranscription, LiveTranscriptionInput } from "./types.ts";

/** Reserved for a live session. A session under a budget is ended after this much audio, summed over all channels. */
export const LIVE_SESSION_SECONDS = 300;

export const liveTranscription: TaskDefinition<LiveTranscriptionInput, LiveTranscription> = {
	estimate: () => upperBound({ liveAudioSeconds: LIVE_SESSION_SECONDS }),
	// A session is billed when it ends: `measureLive`.
	measure: () => exact({}),
	session: true,
	hedgeable: false,
	shareable: () => false,
};
