/** In the metadata of each file of the simulator. */
export const SOFTWARE = "Ganglion simulator";
export const NOTICE = "Simulated by Ganglion: no model made this.";
