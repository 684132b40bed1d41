/** What a build without a room has in place of its Durable Objects and of its durable work. Both wait for a build that has the room. */
import { DurableObject } from "cloudflare:workers";
import { PostponedWork, type WorkHandler } from "./queue/work.ts";

const WAIT_MS = 60 * 60_000;

/** Keeps what the object has stored, and its alarm. */
export class LeftOutObject extends DurableObject {
	override alarm(): Promise<void> {
		return this.ctx.storage.setAlarm(Date.now() + WAIT_MS);
	}
}

export const leftOutWork: WorkHandler = { run: () => Promise.reject(new PostponedWork(WAIT_MS)) };
