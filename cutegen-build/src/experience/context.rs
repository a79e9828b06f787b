//! [`Context`]: where a hint applies: kernel classes, machines, features of the target, and the role of its reader.

use cutegen_spec::arch::Feature;
use serde::{Deserialize, Serialize};

use crate::plan::Plan;

/// Words for kernel classes, which are those that a spec's `family` may assert.
const CLASSES: [&str; 8] =
    ["elementwise", "rowwise", "scan", "window", "contraction", "attention", "fused graph", "general"];

/// What an author of kernels attends to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Role {
    /// What is computed together, and in which form.
    Fusion,
    /// How bytes move.
    Memory,
    /// Grid, block, tiles, and what overlaps.
    Launch,
    /// What the instructions are.
    Compute,
}

/// What kernels run on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Machine {
    /// Any.
    #[default]
    Any,
    /// A GPU.
    Gpu,
    /// A CPU.
    Host,
}

/// A feature that a hint needs of its target.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Need {
    /// Copies in bulk.
    Bulk,
    /// Copies of boxes of tensors.
    Tma,
    /// Clusters of blocks.
    Cluster,
    /// Programmatic dependent launch.
    Pdl,
    /// Products by warpgroups.
    Wgmma,
}

/// Where a hint applies. What is left out narrows nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Context {
    /// Kernel classes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<String>,
    /// What kernels run on.
    #[serde(default, skip_serializing_if = "Machine::is_any")]
    pub on: Machine,
    /// What the target has to have.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<Need>,
    /// Who is told, where roles are told apart.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role: Option<Role>,
}

impl Machine {
    fn is_any(&self) -> bool {
        *self == Self::Any
    }
}

impl Role {
    /// Every one.
    pub const ALL: [Role; 4] = [Role::Fusion, Role::Memory, Role::Launch, Role::Compute];

    /// Its word.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Role::Fusion => "fusion",
            Role::Memory => "memory",
            Role::Launch => "launch",
            Role::Compute => "compute",
        }
    }
}

impl Need {
    /// Its word.
    pub(super) fn name(self) -> &'static str {
        match self {
            Need::Bulk => "bulk",
            Need::Tma => "tma",
            Need::Cluster => "cluster",
            Need::Pdl => "pdl",
            Need::Wgmma => "wgmma",
        }
    }

    fn feature(self) -> Feature {
        match self {
            Need::Bulk => Feature::Bulk,
            Need::Tma => Feature::Tma,
            Need::Cluster => Feature::Cluster,
            Need::Pdl => Feature::Pdl,
            Need::Wgmma => Feature::Wgmma,
        }
    }
}

impl Context {
    /// Whether it applies to kernels of a plan.
    #[must_use]
    pub fn fits(&self, plan: &Plan) -> bool {
        let is_there = match self.on {
            Machine::Any => true,
            Machine::Gpu => !plan.target.is_host(),
            Machine::Host => plan.target.is_host(),
        };
        let is_class = self.classes.is_empty() || self.classes.iter().any(|class| plan.family.is(class));
        is_there && is_class && self.needs.iter().all(|need| plan.target.has(need.feature()))
    }

    /// Whether an author in this role is told.
    pub(super) fn is_for(&self, role: Option<Role>) -> bool {
        role.is_none() || self.role.is_none() || self.role == role
    }

    /// How much it narrows.
    pub(super) fn precision(&self) -> usize {
        usize::from(!self.classes.is_empty()) + usize::from(!self.needs.is_empty())
    }

    /// Whether its classes are known.
    pub(super) fn check(&self) -> Result<(), String> {
        match self.classes.iter().find(|class| !CLASSES.contains(&class.as_str())) {
            None => Ok(()),
            Some(class) => Err(format!("no kernel class {class:?}; there are: {}", CLASSES.join(", "))),
        }
    }
}
