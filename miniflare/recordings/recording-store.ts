/** Files by name. */
export interface RecordingStore {
	/** A text that changes with the file: its time and its size. `undefined`: no such file. */
	stamp(name: string): Promise<string | undefined>;
	/** `undefined`: no such file. */
	read(name: string): Promise<string | undefined>;
	write(name: string, text: string): Promise<void>;
	/** The file may be gone. */
	remove(name: string): Promise<void>;
}
