/** The alarm of a Durable Object that several parts of the object need. */

/** Sets the alarm to this time, unless there is an earlier one. An infinite time sets none. While the alarm runs, there is none. */
export async function setAlarmBy(
	storage: Pick<DurableObjectStorage, "getAlarm" | "setAlarm">,
	time: number,
): Promise<void> {
	const alarm = (await storage.getAlarm()) ?? Number.POSITIVE_INFINITY;
	if (time < alarm) await storage.setAlarm(time);
}
