/** The alarm of a Durable Object that several parts of the object need. */

/**
 * Sets the alarm to this time, unless there is an earlier one. An infinite time sets none. In `alarm()`, the alarm that has fired does not
 * count. Await one call before the next: two at once may keep the later time.
 */
export async function setAlarmBy(
	storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
	time: number,
): Promise<void> {
	const alarm = (await storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
	if (time < alarm) await storage.setAlarm(time);
}
