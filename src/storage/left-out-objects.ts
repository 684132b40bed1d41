/** What a build without a room has in place of its Durable Objects and of its durable work. Both wait for a build that has the room. */
import { DurableObject } from "cloudflare:workers";
import { tablesOf } from "../core/erase-object.ts";
import { PostponedWork, type WorkHandler } from "./queue/work.ts";

const WAIT_MS = 60 * 60_000;

/** Keeps what the object has stored, and its alarm. */
export class LeftOutObject extends DurableObject {
	override alarm(): Promise<void> {
		return this.ctx.storage.setAlarm(Date.now() + WAIT_MS);
	}

	/** A deletion of the account waits for a build that has the room, if the object has stored anything. */
	erase(): number | undefined {
		return tablesOf(this.ctx.storage).length > 0 ? undefined : 0;
	}
}

export const leftOutWork: WorkHandler = { run: () => Promise.reject(new PostponedWork(WAIT_MS)) };
