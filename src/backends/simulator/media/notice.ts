/** What the metadata of every file of the simulator says. */
export const SOFTWARE = "Ganglion simulator";
export const NOTICE = "Simulated by Ganglion: no model made this.";
