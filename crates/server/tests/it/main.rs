//! The server's tests. Most run a server in this process, on a free port, over a directory and over
//! the image of a drive, and speak to it with a small client of their own (`client`), which signs
//! as S3 has it. `kills`, `exits` and `sieges` run the program. The clients `boto3`, `rclone` and
//! `s3cmd` are run by `cargo xtask test`, from `tests/clients`.

mod answers;
mod checkpoints;
mod chunks;
mod client;
mod copies;
mod crowds;
mod cuts;
mod dashboards;
mod deletes;
mod drives;
mod exits;
mod hostile;
mod hosts;
mod kills;
mod leftovers;
mod lists;
mod objects;
mod parts;
mod presigned;
mod records;
mod rig;
mod rights;
mod sieges;
mod uploads;
